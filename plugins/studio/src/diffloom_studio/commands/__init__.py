"""The commands of the application, each in a module of its own, imported when it is run."""
