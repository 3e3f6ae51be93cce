import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { routesQuery, type Route } from '../../api/upstreams.ts';
import { statisticsQuery } from '../../api/usage.ts';
import { useWords } from '../../words/words.ts';
import { useNames } from './use-names.ts';

const WIDTH = 960;
const ROW = 36;
const BOX = { width: 260, height: 26 };
const EDGE = { least: 1.5, most: 14 };
const DAY = { name: '24h', interval: 'hour' } as const;

/** Requests of the last day by upstream: how wide its edges are. */
function useTraffic(): ReadonlyMap<number, number> {
  const { data } = useQuery(statisticsQuery({ group_by: 'upstream' }, DAY));
  const sums = new Map<number, number>();
  for (const { upstream_id: id, requests } of data?.data ?? [])
    if (typeof id === 'number') sums.set(id, (sums.get(id) ?? 0) + requests);
  return sums;
}

/** Models left, upstreams right, an edge a route; the list below says the same to those who cannot see it. */
export function RoutingPicture() {
  const { admin } = useWords();
  const { data } = useQuery(routesQuery);
  const names = useNames();
  const traffic = useTraffic();
  const [pointed, setPointed] = useState<string>();
  const routes = data?.data ?? [];
  const models = [...new Set(routes.map(({ model_id: id }) => id))];
  const upstreams = [...new Set(routes.map(({ upstream_id: id }) => id))];
  if (routes.length === 0) return null;
  const height = Math.max(models.length, upstreams.length) * ROW + 8;
  const most = Math.max(1, ...traffic.values());
  const yOf = (index: number, count: number): number => ((index + 0.5) * height) / count;
  const isDim = (route: Route): boolean =>
    pointed !== undefined &&
    pointed !== `m${route.model_id}` &&
    pointed !== `u${route.upstream_id}`;
  const widthOf = (route: Route): number =>
    EDGE.least + ((traffic.get(route.upstream_id) ?? 0) / most) * (EDGE.most - EDGE.least);
  return (
    <div className="overflow-x-auto">
      <svg
        viewBox={`0 0 ${WIDTH} ${height}`}
        role="img"
        aria-label={admin.routing.picture}
        className="block w-full min-w-[640px]"
      >
        {routes.map((route) => {
          const from = yOf(models.indexOf(route.model_id), models.length);
          const to = yOf(upstreams.indexOf(route.upstream_id), upstreams.length);
          const isUsed = route.enabled && (names.upstreams.get(route.upstream_id)?.enabled ?? true);
          return (
            <path
              key={route.id}
              d={`M${BOX.width} ${from} C ${WIDTH / 2} ${from}, ${WIDTH / 2} ${to}, ${WIDTH - BOX.width} ${to}`}
              fill="none"
              strokeWidth={widthOf(route)}
              strokeDasharray={isUsed ? undefined : '4 4'}
              className={`${isUsed ? 'stroke-accent' : 'stroke-line-strong'} ${isDim(route) ? 'opacity-10' : route.priority > 1 ? 'opacity-35' : 'opacity-70'}`}
            />
          );
        })}
        {models.map((id, index) => (
          <Box
            key={`m${id}`}
            x={0}
            y={yOf(index, models.length)}
            text={names.models.get(id)?.name ?? String(id)}
            onPoint={(isOn) => setPointed(isOn ? `m${id}` : undefined)}
          />
        ))}
        {upstreams.map((id, index) => (
          <Box
            key={`u${id}`}
            x={WIDTH - BOX.width}
            y={yOf(index, upstreams.length)}
            text={names.upstreams.get(id)?.name ?? String(id)}
            onPoint={(isOn) => setPointed(isOn ? `u${id}` : undefined)}
          />
        ))}
      </svg>
    </div>
  );
}

const LETTERS_MAX = 34;

function Box({
  x,
  y,
  text,
  onPoint,
}: {
  x: number;
  y: number;
  text: string;
  onPoint: (isOn: boolean) => void;
}) {
  const shown = text.length > LETTERS_MAX ? `${text.slice(0, LETTERS_MAX - 1)}…` : text;
  return (
    <g onPointerEnter={() => onPoint(true)} onPointerLeave={() => onPoint(false)}>
      <title>{text}</title>
      <rect
        x={x + 0.5}
        y={y - BOX.height / 2}
        width={BOX.width - 1}
        height={BOX.height}
        rx="6"
        className="fill-surface stroke-line-strong"
      />
      <text x={x + 12} y={y + 4.5} className="fill-text text-table">
        {shown}
      </text>
    </g>
  );
}
