"""Control: goals, policies of open and closed loop, and what a control costs."""
