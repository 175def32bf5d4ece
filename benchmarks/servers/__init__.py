"""What people would serve instead, and the floor: each as short as its documentation shows it."""
