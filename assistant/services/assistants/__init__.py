"""An assistant's configuration: settings, prompts, and the choice of provider and model."""
