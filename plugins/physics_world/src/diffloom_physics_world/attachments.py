"""What holds bodies together."""
def read_attachments(a, b, c, d):
    return ()
