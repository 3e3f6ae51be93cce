import { useQuery } from '@tanstack/react-query';
import { snapshotsQuery, type ProxyNode } from '../../api/fleet.ts';
import { formatCount } from '../../ui/format.ts';
import { useSpeech } from '../../words/words.ts';

/** Returns the newest version there is: published, or already run by a node before the list of versions is read again. */
export function useNewest(nodes: readonly ProxyNode[]): number {
  const { data } = useQuery(snapshotsQuery(1));
  return Math.max(0, data?.data[0]?.version ?? 0, ...nodes.map(({ version }) => version ?? 0));
}

/** Says why a node is not well or behind the fleet; nothing if it is up to date. */
export function useLags(): (node: ProxyNode, newest: number) => string[] {
  const { words, locale } = useSpeech();
  const { findings, nodes } = words.admin;
  const { lags } = findings;
  return ({ state, workers, version }, newest) => {
    const live = workers.filter((worker) => worker.state !== 'offline');
    const silent = live.length === 0 ? 0 : workers.length - live.length;
    const refusals = new Set(live.flatMap(({ refused }) => refused ?? []));
    const behind = newest - (version ?? newest);
    return [
      ...(state === 'online' ? [] : [lags.state(nodes.states[state])]),
      ...(silent > 0 ? [lags.silent(formatCount(silent, locale))] : []),
      ...[...refusals].map((reason) => lags.refused(reason)),
      ...(behind > 0 && state !== 'offline' && refusals.size === 0
        ? [lags.behind(formatCount(behind, locale))]
        : []),
    ];
  };
}
