"""The commands of the application, one file each."""
