import type { Board } from './board.ts';
import { customer } from './boards/customer.ts';
import { fleet } from './boards/fleet.ts';
import { money } from './boards/money.ts';
import { upstream } from './boards/upstream.ts';

/** Lists the boards that `npm run generate` writes to deploy/grafana, one file each. */
export const BOARDS: readonly Board[] = [fleet, money, upstream, customer];
