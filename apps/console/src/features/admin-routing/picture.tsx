import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { routesQuery, type Route } from '../../api/upstreams.ts';
import { ScrollBox } from '../../ui/scroll-box.tsx';
import { useWords } from '../../words/words.ts';
import { useRouteHealth, type RouteState } from './use-health.ts';
import { useNames } from './use-names.ts';

const WIDTH = 960;
const ROW = 36;
const BOX = { width: 260, height: 26 };
const EDGE = { least: 1.5, most: 14 };
const STROKES: Readonly<Record<RouteState, string>> = {
  unused: 'stroke-line-strong',
  resting: 'stroke-bad',
  failing: 'stroke-warn',
  sound: 'stroke-accent',
};
const DASHES: Partial<Record<RouteState, string>> = { unused: '4 4', resting: '10 6' };
/** The later the tier, the fainter. */
const TIERS = ['opacity-80', 'opacity-50', 'opacity-30'] as const;

/** Models left, upstreams right, an edge a route; the list below says the same to those who cannot see it. */
export function RoutingPicture() {
  const { admin } = useWords();
  const { data } = useQuery(routesQuery);
  const health = useRouteHealth();
  const [pointed, setPointed] = useState<string>();
  const routes = data?.data ?? [];
  const layout = layoutOf(routes);
  if (routes.length === 0) return null;
  const requestsOf = (route: Route): number => health.trafficOf(route)?.requests ?? 0;
  const most = Math.max(1, ...routes.map(requestsOf));
  const isDim = (route: Route): boolean =>
    pointed !== undefined &&
    pointed !== `m${route.model_id}` &&
    pointed !== `u${route.upstream_id}`;
  return (
    <ScrollBox label={admin.routing.picture}>
      <svg
        viewBox={`0 0 ${WIDTH} ${layout.height}`}
        role="img"
        aria-label={admin.routing.picture}
        className="block w-full min-w-[640px]"
      >
        {routes.map((route) => (
          <Edge key={route.id} of={route} isDim={isDim(route)} layout={layout} most={most} />
        ))}
        <Boxes layout={layout} onPoint={setPointed} />
      </svg>
    </ScrollBox>
  );
}

interface BoxesProps {
  layout: Layout;
  onPoint: (pointed: string | undefined) => void;
}

function Boxes({ layout: { models, upstreams, height }, onPoint }: BoxesProps) {
  const names = useNames();
  return (
    <>
      {models.map((id) => (
        <Box
          key={`m${id}`}
          x={0}
          y={yOf(models, id, height)}
          text={names.models.get(id)?.name ?? String(id)}
          onPoint={(isOn) => onPoint(isOn ? `m${id}` : undefined)}
        />
      ))}
      {upstreams.map((id) => (
        <Box
          key={`u${id}`}
          x={WIDTH - BOX.width}
          y={yOf(upstreams, id, height)}
          text={names.upstreams.get(id)?.name ?? String(id)}
          onPoint={(isOn) => onPoint(isOn ? `u${id}` : undefined)}
        />
      ))}
    </>
  );
}

/** Ids in their order from top to bottom, and how high the picture is. */
interface Layout {
  routes: readonly Route[];
  models: readonly number[];
  upstreams: readonly number[];
  height: number;
}

function layoutOf(routes: readonly Route[]): Layout {
  const models = [...new Set(routes.map(({ model_id: id }) => id))];
  const upstreams = [...new Set(routes.map(({ upstream_id: id }) => id))];
  const height = Math.max(models.length, upstreams.length) * ROW + 8;
  return { routes, models, upstreams, height };
}

function yOf(ids: readonly number[], id: number, height: number): number {
  return ((ids.indexOf(id) + 0.5) * height) / ids.length;
}

interface EdgeProps {
  of: Route;
  isDim: boolean;
  layout: Layout;
  /** The most requests of an edge. */
  most: number;
}

function Edge({ of: route, isDim, layout, most }: EdgeProps) {
  const names = useNames();
  const health = useRouteHealth();
  const { routes, models, upstreams, height } = layout;
  const from = yOf(models, route.model_id, height);
  const to = yOf(upstreams, route.upstream_id, height);
  const state = health.stateOf(route, names.upstreams.get(route.upstream_id)?.enabled ?? true);
  const requests = health.trafficOf(route)?.requests ?? 0;
  return (
    <path
      d={`M${BOX.width} ${from} C ${WIDTH / 2} ${from}, ${WIDTH / 2} ${to}, ${WIDTH - BOX.width} ${to}`}
      fill="none"
      strokeWidth={EDGE.least + (requests / most) * (EDGE.most - EDGE.least)}
      strokeDasharray={DASHES[state]}
      className={`${STROKES[state]} ${isDim ? 'opacity-10' : TIERS[tierOf(route, routes)]}`}
    />
  );
}

/** 0 is asked first; tiers from the third on look alike. */
function tierOf({ model_id: id, priority }: Route, routes: readonly Route[]): number {
  const tiers = new Set(
    routes
      .filter((one) => one.model_id === id && one.priority < priority)
      .map((one) => one.priority),
  );
  return Math.min(tiers.size, TIERS.length - 1);
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
