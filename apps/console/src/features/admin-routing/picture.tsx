import { useQuery } from '@tanstack/react-query';
import { memo, useMemo, useState } from 'react';
import { routesQuery, type Route } from '../../api/upstreams.ts';
import { useWidth } from '../../ui/use-width.ts';
import { Panel } from '../../ui/page.tsx';
import { formatCount } from '../../ui/format.ts';
import { useSpeech } from '../../words/words.ts';
import { useRouteHealth, type RouteHealth, type RouteState } from './use-health.ts';
import { useNames, type Names } from './use-names.ts';
import { stateOf, type Facts } from './use-shown-routes.ts';

const ROW = 36;
const BOX = { height: 26, widest: 260, share: 0.41 };
const EDGE = { least: 1.5, most: 14 };
const STROKES: Readonly<Record<RouteState, string>> = {
  unused: 'stroke-line-strong',
  idle: 'stroke-line-strong',
  resting: 'stroke-bad',
  failing: 'stroke-warn',
  sound: 'stroke-accent',
};
const DASHES: Partial<Record<RouteState, string>> = { unused: '4 4', resting: '10 6' };
/** A later tier of routes is drawn fainter. */
const TIERS = ['opacity-80', 'opacity-50', 'opacity-30'] as const;

/** More models do not fit a screen: the picture shows those with most requests. */
const MODELS_MAX = 12;

/** Draws models left, upstreams right, an edge a route; the list below says the same to those who cannot see it. */
export const RoutingPicture = memo(function RoutingPicture({ of: all }: { of: readonly Route[] }) {
  const { words, locale } = useSpeech();
  const { routing } = words.admin;
  const names = useNames();
  const health = useRouteHealth();
  const { routes, models } = useMemo(() => mostUsed(all, health), [all, health]);
  if (routes.length === 0) return null;
  const count = (value: number): string => formatCount(value, locale);
  return (
    <Panel
      title={routing.picture}
      note={[
        ...(models > MODELS_MAX ? [routing.mostUsed(count(MODELS_MAX), count(models))] : []),
        routing.pictureHint,
      ].join(' ')}
    >
      <Drawing of={routes} facts={{ names, health }} />
    </Panel>
  );
});

/** Returns the routes of the models with most requests, in their order, and of how many models there are. */
function mostUsed(
  all: readonly Route[],
  health: RouteHealth,
): { routes: readonly Route[]; models: number } {
  const requests = new Map<number, number>();
  for (const route of all)
    requests.set(
      route.model_id,
      (requests.get(route.model_id) ?? 0) + (health.trafficOf(route)?.requests ?? 0),
    );
  const first = [...requests].toSorted(([, a], [, b]) => b - a).slice(0, MODELS_MAX);
  const shown = new Set(first.map(([id]) => id));
  return { routes: all.filter(({ model_id: id }) => shown.has(id)), models: requests.size };
}

function Drawing({ of: routes, facts }: { of: readonly Route[]; facts: Facts }) {
  const { admin } = useSpeech().words;
  const { data } = useQuery(routesQuery);
  const [pointed, setPointed] = useState<string>();
  const [place, width] = useWidth();
  const layout = layoutOf(routes, width);
  const requestsOf = (route: Route): number => facts.health.trafficOf(route)?.requests ?? 0;
  const most = Math.max(1, ...routes.map(requestsOf));
  const isDim = (route: Route): boolean =>
    pointed !== undefined &&
    pointed !== `m${route.model_id}` &&
    pointed !== `u${route.upstream_id}`;
  return (
    <div ref={place} className="overflow-hidden">
      <svg
        width={width}
        height={layout.height}
        role="img"
        aria-label={admin.routing.picture}
        className="block"
      >
        {routes.map((route) => (
          <Edge
            key={route.id}
            of={route}
            state={stateOf(route, facts)}
            share={requestsOf(route) / most}
            tier={tierOf(route, data?.data ?? routes)}
            isDim={isDim(route)}
            layout={layout}
          />
        ))}
        <Boxes layout={layout} names={facts.names} onPoint={setPointed} />
      </svg>
    </div>
  );
}

interface BoxesProps {
  layout: Layout;
  names: Names;
  onPoint: (pointed: string | undefined) => void;
}

function Boxes({ layout: { models, upstreams, height, width, box }, names, onPoint }: BoxesProps) {
  return (
    <>
      {models.map((id) => (
        <Box
          key={`m${id}`}
          x={0}
          width={box}
          y={yOf(models, id, height)}
          text={names.models.get(id)?.name ?? String(id)}
          onPoint={(isOn) => onPoint(isOn ? `m${id}` : undefined)}
        />
      ))}
      {upstreams.map((id) => (
        <Box
          key={`u${id}`}
          x={width - box}
          width={box}
          y={yOf(upstreams, id, height)}
          text={names.upstreams.get(id)?.name ?? String(id)}
          onPoint={(isOn) => onPoint(isOn ? `u${id}` : undefined)}
        />
      ))}
    </>
  );
}

/** Holds ids in their order from top to bottom, and how large the picture and the boxes in it are. */
interface Layout {
  models: readonly number[];
  upstreams: readonly number[];
  height: number;
  width: number;
  box: number;
}

function layoutOf(routes: readonly Route[], width: number): Layout {
  const models = [...new Set(routes.map(({ model_id: id }) => id))];
  const upstreams = [...new Set(routes.map(({ upstream_id: id }) => id))];
  const height = Math.max(models.length, upstreams.length) * ROW + 8;
  const box = Math.min(BOX.widest, Math.floor(width * BOX.share));
  return { models, upstreams, height, width, box };
}

function yOf(ids: readonly number[], id: number, height: number): number {
  return ((ids.indexOf(id) + 0.5) * height) / ids.length;
}

interface EdgeProps {
  of: Route;
  state: RouteState;
  /** Compares its requests with the most of an edge. */
  share: number;
  tier: number;
  isDim: boolean;
  layout: Layout;
}

function Edge({ of: route, state, share, tier, isDim, layout }: EdgeProps) {
  const { models, upstreams, height, width, box } = layout;
  const from = yOf(models, route.model_id, height);
  const to = yOf(upstreams, route.upstream_id, height);
  return (
    <path
      d={`M${box} ${from} C ${width / 2} ${from}, ${width / 2} ${to}, ${width - box} ${to}`}
      fill="none"
      strokeWidth={EDGE.least + share * (EDGE.most - EDGE.least)}
      strokeDasharray={DASHES[state]}
      className={`${STROKES[state]} ${isDim ? 'opacity-10' : TIERS[tier]}`}
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

const PADDING = 8;
/** Is the average width of a letter in tables. */
const LETTER_WIDTH = 6.9;

interface BoxProps {
  x: number;
  width: number;
  y: number;
  text: string;
  onPoint: (isOn: boolean) => void;
}

function Box({ x, width, y, text, onPoint }: BoxProps) {
  const letters = Math.max(2, Math.floor((width - 2 * PADDING) / LETTER_WIDTH));
  const shown = text.length > letters ? `${text.slice(0, letters - 1)}…` : text;
  return (
    <g onPointerEnter={() => onPoint(true)} onPointerLeave={() => onPoint(false)}>
      <title>{text}</title>
      <rect
        x={x + 0.5}
        y={y - BOX.height / 2}
        width={Math.max(0, width - 1)}
        height={BOX.height}
        rx="6"
        className="fill-surface stroke-line-strong"
      />
      <text x={x + PADDING} y={y + 4.5} className="fill-text text-table">
        {shown}
      </text>
    </g>
  );
}
