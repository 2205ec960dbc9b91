-- Sends a row of words per clock, and writes for each score its latency in clocks, counted from the clock at
-- which its event was taken, and its word.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use std.textio.all;

library BDT;

entity bench is
  generic(inputs : string := "words.txt"; outputs : string := "scores.txt");
end bench;

architecture simulation of bench is
  signal clk     : std_logic := '0';
  signal x       : std_logic_vector($features * $input_width - 1 downto 0) := (others => '0');
  signal x_valid : std_logic := '0';
  signal y       : std_logic_vector($score_width - 1 downto 0);
  signal y_valid : std_logic;
begin
  clk <= not clk after 2 ns;

  unit : entity BDT.$project port map(clk, x, x_valid, y, y_valid);

  process
    file words  : text open read_mode is inputs;
    file scores : text open write_mode is outputs;
    variable row        : line;
    variable word       : integer;
    variable sent, seen : natural := 0;
    variable clock      : natural := 0;
  begin
    -- Scores that leave the pipeline before that of the first event are not valid.
    while (not endfile(words) or seen < sent) and clock < sent + $patience loop
      x_valid <= '0';
      if not endfile(words) then
        readline(words, row);
        for i in 0 to $features - 1 loop
          read(row, word);
          x($input_width * (i + 1) - 1 downto $input_width * i) <= std_logic_vector(to_$input_kind(word, $input_width));
        end loop;
        x_valid <= '1';
        sent := sent + 1;
      end if;
      wait until rising_edge(clk);
      if y_valid = '1' then
        write(row, clock - seen);
        write(row, ' ');
        write(row, to_integer($score_kind(y)));
        writeline(scores, row);
        seen := seen + 1;
      end if;
      clock := clock + 1;
    end loop;
    std.env.finish;
  end process;
end simulation;
