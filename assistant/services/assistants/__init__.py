"""An assistant's configuration: settings, prompts, which provider and model answer."""
