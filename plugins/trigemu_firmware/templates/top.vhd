-- The trees with ports of the widths of their types: words of the inputs, the first in the lowest bits, and
-- the word of the score. A new event may come with every clock.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

library work;
use work.Constants.all;
use work.Types.all;

entity $project is
  port(
    clk     : in std_logic;
    x       : in std_logic_vector($features * $input_width - 1 downto 0);
    x_valid : in std_logic;
    y       : out std_logic_vector($score_width - 1 downto 0);
    y_valid : out std_logic
  );
end $project;

architecture rtl of $project is
  signal inputs      : txArray(0 to nFeatures - 1);
  signal input_valid : boolean;
  signal scores      : tyArray(0 to nClasses - 1);
  signal score_valid : boolArray(0 to nClasses - 1);
begin
  words : for i in 0 to nFeatures - 1 generate
    inputs(i) <= signed(resize($input_kind(x($input_width * (i + 1) - 1 downto $input_width * i)), tx'length));
  end generate;
  input_valid <= x_valid = '1';

  ensemble : entity work.BDTTop port map(clk, inputs, input_valid, scores, score_valid);

  y       <= std_logic_vector(scores(0)($score_width - 1 downto 0));
  y_valid <= '1' when score_valid(0) else '0';
end rtl;
