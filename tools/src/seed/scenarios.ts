import type { AdminClient } from '../admin-client.ts';
import type { StartFile } from '../stack/start-file.ts';
import { seedDemo } from './demo.ts';
import { seedTeams } from './teams.ts';

export interface Scenario {
  summary: string;
  /** Returns what to print. */
  seed: (admin: AdminClient, running: StartFile) => Promise<string>;
}

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  demo: {
    summary: 'what npm start shows: one user, a chat and an embedding model, a key',
    seed: async (admin, { user, upstreamUrl }) =>
      `A new key of ${user.username}: ${await seedDemo(admin, { user, upstreamUrl })}`,
  },
  teams: {
    summary:
      'twelve users in every state, with models, prices, limits and auto-recharge of all kinds',
    seed: (admin, { user, upstreamUrl }) => seedTeams(admin, { user, upstreamUrl }),
  },
};
