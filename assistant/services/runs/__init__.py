"""A run from opening to closing: leases, checkpoints, approvals, recovery, snapshots."""
