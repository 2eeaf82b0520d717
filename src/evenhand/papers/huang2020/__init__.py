"""Huang et al. 2020: sleeping arms, several plays per round."""
