"""Parts of tenants' runs that act in some runs only, and the deployment's own."""
