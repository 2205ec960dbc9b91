-- Gives one row of words to each tree, and writes the word of each tree before they are added.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use std.textio.all;

library BDT;
use BDT.Arrays0.all;
use BDT.Constants.all;
use BDT.Types.all;

entity trees_bench is
  generic(inputs : string := "words.txt"; outputs : string := "trees.txt");
end trees_bench;

architecture simulation of trees_bench is
  signal clk   : std_logic := '0';
  signal x     : txArray(0 to nFeatures - 1) := (others => to_tx(0));
  signal y     : tyArray(0 to nTrees - 1);
  signal valid : boolArray(0 to nTrees - 1);
begin
  clk <= not clk after 2 ns;

  trees : for t in 0 to nTrees - 1 generate
    tree : entity BDT.Tree
      generic map(feature(t), children_left(t), children_right(t), parent(t), iLeaf(t), depth(t),
                  threshold(t), value(t))
      port map(clk, x, true, y(t), valid(t));
  end generate;

  process
    file words  : text open read_mode is inputs;
    file scores : text open write_mode is outputs;
    variable row  : line;
    variable word : integer;
  begin
    readline(words, row);
    for i in x'range loop
      read(row, word);
      x(i) <= to_tx(word);
    end loop;
    for clock in 0 to $patience loop
      wait until rising_edge(clk);
    end loop;
    for t in y'range loop
      write(row, to_integer(y(t)));
      writeline(scores, row);
    end loop;
    std.env.finish;
  end process;
end simulation;
