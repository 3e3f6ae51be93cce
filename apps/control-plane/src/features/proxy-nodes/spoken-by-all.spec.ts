import { expect, test } from '@jest/globals';
import { CREDENTIALS_ABILITY, NODE_ABILITIES } from '@tollgate/contracts';
import { spokenByAll } from './node-wishes.ts';

const node = (...abilities: string[]) => ({ abilities });
const others = NODE_ABILITIES.filter((ability) => ability !== CREDENTIALS_ABILITY);

test('several credentials are published once all nodes that have reported share requests among them', () => {
  expect(spokenByAll([node(...NODE_ABILITIES), node()])).toContain(CREDENTIALS_ABILITY);
  expect(spokenByAll([node(...NODE_ABILITIES), node(...others)])).not.toContain(
    CREDENTIALS_ABILITY,
  );
});
