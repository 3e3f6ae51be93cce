import {
  AUTH_ABILITIES,
  credentialMark,
  CREDENTIALS_ABILITY,
  NODE_ABILITIES,
  readFormatsOf,
  shardsOf,
  speaksAbility,
  UPSTREAM_PROTOCOLS,
  type DesiredNodeState,
  type FormatNumbers,
  type NodeReport,
} from '@tollgate/contracts';
import { acceptedHashes } from './node-credentials.ts';
import type { KnownNode } from './node-watch.ts';

export function wantedState(
  node: Pick<KnownNode, 'enabled' | 'stopped'>,
): DesiredNodeState['state'] {
  if (!node.enabled) return 'disabled';
  return node.stopped ? 'stopped' : 'serve';
}

/** A node of a release that does not name the formats it reads cannot read them here either. */
export function desiredOf(
  node: KnownNode,
  {
    formats,
    isMisconfigured,
    fleetHashes,
  }: { formats: FormatNumbers; isMisconfigured: boolean; fleetHashes: readonly string[] },
): DesiredNodeState {
  const state = isMisconfigured ? 'disabled' : wantedState(node);
  const credentials = marksOf(node.name, acceptedHashes(node.credentialHashes, fleetHashes));
  return Object.keys(formats).length > 0 && readFormatsOf(node.abilities)
    ? { state, formats, credentials }
    : { state, credentials };
}

/** Returns the state of a node that is not registered, and whose report shows no credential of the fleet. */
export function strangerOf(name: string, fleetHashes: readonly string[]): DesiredNodeState {
  return { state: 'unknown', credentials: marksOf(name, fleetHashes) };
}

function marksOf(name: string, hashes: readonly string[]): string[] {
  return hashes.map((hash) => credentialMark(name, hash));
}

/** Returns the SHARDS of a live worker, where it is not the installation's: it would look for accounts in the wrong shards. */
export function otherShardsOf(
  workers: readonly { isLive: boolean; report: Pick<NodeReport, 'abilities'> }[],
  shards: number,
): number | undefined {
  return workers
    .filter(({ isLive }) => isLive)
    .map(({ report }) => shardsOf(report.abilities))
    .find((found) => found !== undefined && found !== shards);
}

/** Returns the protocols that all of these nodes speak, and their further abilities on which publication depends. A node that has not reported yet counts for none: an upstream must not be withdrawn whenever a node joins. */
export function spokenByAll(nodes: readonly Pick<KnownNode, 'abilities'>[]): string[] {
  const reported = nodes.filter(({ abilities }) => abilities.length > 0);
  const haveAll = (ability: string): boolean =>
    reported.every(({ abilities }) => abilities.includes(ability));
  return [
    ...UPSTREAM_PROTOCOLS.filter((protocol) => haveAll(speaksAbility(protocol))),
    ...[...AUTH_ABILITIES, CREDENTIALS_ABILITY].filter(haveAll),
  ];
}

/** Returns the abilities that are known here, and formats: a later release's number says that earlier ones are read too. */
export function abilitiesOf(reports: readonly NodeReport[]): string[] {
  const shared = (reports[0]?.abilities ?? []).filter((ability) =>
    reports.every((report) => report.abilities.includes(ability)),
  );
  return shared
    .filter(
      (ability) =>
        NODE_ABILITIES.some((known) => known === ability) || readFormatsOf([ability]) !== undefined,
    )
    .sort();
}
