import type { AdminClient } from '../admin-client.ts';
import type { StartFile } from '../stack/start-file.ts';
import { seedDemo } from './demo.ts';
import { closeDemo, playFirstMinute, prepareFirstMinute } from './first-minute.ts';
import { seedLarge } from './large.ts';
import { seedTeams } from './teams.ts';

export interface Scenario {
  summary: string;
  /** Runs the scenario and returns the text to print. */
  seed: (admin: AdminClient, running: StartFile) => Promise<string>;
}

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  demo: {
    summary: 'what npm start shows: one user, a chat and an embedding model, a key',
    seed: async (admin, { user, upstreamUrl }) =>
      `A new key of ${user.username}: ${await seedDemo(admin, { user, upstreamUrl })}`,
  },
  'first-minute': {
    summary: 'what npm start sends once: some 300 requests of several users, within a minute',
    seed: async (admin, { baseUrl, upstreamUrl, user }) => {
      const demo = { admin, baseUrl, upstreamUrl, password: user.password };
      const callers = await prepareFirstMinute(demo);
      return `${await playFirstMinute(demo, callers, () => false)} requests were sent.`;
    },
  },
  'close-demo': {
    summary: 'deletes the accounts of the demo; their ledgers stay',
    seed: async (admin) => {
      const closed = await closeDemo(admin);
      return closed.length === 0
        ? 'There is no account of the demo.'
        : `Deleted: ${closed.join(', ')}.`;
    },
  },
  large: {
    summary: '300 models, 20 upstreams, 50 nodes and 1,000 routes, a few of them with traffic',
    seed: seedLarge,
  },
  teams: {
    summary:
      'twelve users in every state, with models, prices, limits and auto-recharge of all kinds',
    seed: (admin, { user, upstreamUrl }) => seedTeams(admin, { user, upstreamUrl }),
  },
};
