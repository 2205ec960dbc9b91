"""What a trained model would do, cost and take on an FPGA. Models are plain arrays here."""
