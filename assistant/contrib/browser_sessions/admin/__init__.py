"""The pages of the control panel about sessions in browsers."""
