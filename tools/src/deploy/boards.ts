import type { Board } from './board.ts';
import { customer } from './boards/customer.ts';
import { fleet } from './boards/fleet.ts';
import { money } from './boards/money.ts';
import { upstream } from './boards/upstream.ts';

/** Written to deploy/grafana by `npm run generate`, one file each. */
export const BOARDS: readonly Board[] = [fleet, money, upstream, customer];
