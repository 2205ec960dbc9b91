// Nested thresholds: of two triggers on one score, the one with the lower threshold accepts all events of the
// other one, whose unique rate is therefore 0 and not an upper limit.

/**
 * Name in each unique rate that is 0 by construction the triggers of its level that accept all its events, as
 * `inside`; their rates bound its other upper limits.
 */
export function withNesting(menu, triggers, groups) {
  const limits = new Map(triggers.map(({ name, total }) => [name, total.limit ?? total.hz]));
  const nested = (row, members) => {
    if (row.unique.events) return row;
    const around = members.map((narrow) =>
      menu.enabled.filter((wide) => !members.includes(wide) && accepts(wide, narrow)).map(({ name }) => name),
    );
    if (!around.every((names) => names.length)) return row;
    const lowest = around.map((names) => Math.min(...names.map((name) => limits.get(name))));
    const most = lowest.reduce((sum, limit) => sum + limit, 0);
    const below = (rate) => (rate.limit === null ? rate : { ...rate, limit: Math.min(rate.limit, most) });
    const unique = { ...row.unique, limit: null, inside: [...new Set(around.map(([first]) => first))] };
    return { ...row, total: below(row.total), share: below(row.share), unique };
  };
  return {
    triggers: triggers.map((row) => nested(row, [menu.triggers.get(row.name)])),
    groups: groups.map((row) =>
      nested(
        row,
        menu.enabled.filter(({ group }) => group === row.name),
      ),
    ),
  };
}

/** Whether a trigger accepts all events that another one of its level on the same score accepts. */
function accepts(wide, narrow) {
  const [a, b] = [wide.decision, narrow.decision];
  const fires =
    "score" in a ? a.score === b.score && wide.step <= narrow.step : "bit" in a && a.bit === b.bit;
  const shared = wide.coherent !== null && wide.coherent === narrow.coherent;
  const counts = wide.prescale === 1 || (shared && wide.prescale <= narrow.prescale);
  const seeded = wide.seed === null || JSON.stringify(wide.seed) === JSON.stringify(narrow.seed);
  return wide.level === narrow.level && fires && counts && seeded;
}
