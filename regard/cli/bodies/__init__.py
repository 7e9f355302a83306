"""What each command does, in a function of its name: imported when it runs, with all that computing needs."""
