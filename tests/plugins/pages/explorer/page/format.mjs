// Numbers as the page writes them: reads [hz, error][] from the standard input, writes their texts.

import fs from "node:fs";
import { inUnit, short, withError } from "../../../../../plugins/trigemu_pages/explorer/page/numbers.js";

const given = JSON.parse(fs.readFileSync(0, "utf-8"));
console.log(JSON.stringify(given.map(([hz, error]) => [inUnit(hz, error), withError(hz, error), short(hz)])));
