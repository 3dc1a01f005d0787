"""The numbers of thin shells: forces of one element and their transposes."""
