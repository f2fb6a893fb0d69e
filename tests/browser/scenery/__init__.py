"""What the pages have to show: made through the doors that people, git and runners use."""
