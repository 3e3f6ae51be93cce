/** Holds what a board is made of, short; `boardJson` writes what Grafana reads (https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/). */
export interface Panel {
  readonly title: string;
  readonly description: string;
  readonly kind: 'timeseries' | 'stat' | 'table';
  readonly unit?: string;
  /** Holds PromQL, or SQL where the board's source is PostgreSQL; with a legend. */
  readonly queries: readonly (readonly [expression: string, legend: string])[];
}

export interface Board {
  readonly uid: string;
  readonly title: string;
  readonly source: 'prometheus' | 'postgres';
  readonly variables: readonly Variable[];
  readonly panels: readonly Panel[];
}

interface Variable {
  readonly name: string;
  readonly label: string;
  readonly query: string;
}

const COLUMNS = 24;
const SIZES = {
  stat: { w: 6, h: 4 },
  timeseries: { w: 12, h: 8 },
  table: { w: 24, h: 9 },
} as const;

/** Writes the file of a board: the source of its data is chosen when it is imported. */
export function boardJson({ uid, title, source, variables, panels }: Board): string {
  const datasource = { type: DATASOURCE_TYPES[source], uid: '${source}' };
  const board = {
    uid,
    title,
    tags: ['tollgate'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    timezone: 'browser',
    templating: {
      list: [
        { name: 'source', label: 'Data source', type: 'datasource', query: datasource.type },
        ...variables.map(({ name, label, query }) => ({
          name,
          label,
          type: 'query',
          datasource,
          query,
          refresh: 2,
          sort: 1,
        })),
      ],
    },
    panels: placed(panels).map(({ panel, gridPos }, index) => ({
      id: index + 1,
      title: panel.title,
      description: panel.description,
      type: panel.kind,
      datasource,
      gridPos,
      fieldConfig: { defaults: { unit: panel.unit ?? 'short', min: 0 }, overrides: [] },
      targets: targetsOf(panel, source, datasource),
    })),
  };
  return `${JSON.stringify(board, null, 2)}\n`;
}

function targetsOf({ kind, queries }: Panel, source: Board['source'], datasource: object) {
  const format = kind === 'timeseries' ? 'time_series' : 'table';
  return queries.map(([expression, legend], at) => ({
    refId: String.fromCharCode(65 + at),
    datasource,
    ...(source === 'prometheus'
      ? { expr: expression, legendFormat: legend, range: true }
      : { rawSql: expression, rawQuery: true, format }),
  }));
}

const DATASOURCE_TYPES = {
  prometheus: 'prometheus',
  postgres: 'grafana-postgresql-datasource',
} as const;

/** Places the panels from left to right, and begins a new row where the next panel does not fit. */
function placed(panels: readonly Panel[]) {
  let [x, y, rowHeight] = [0, 0, 0];
  return panels.map((panel) => {
    const { w, h } = SIZES[panel.kind];
    if (x + w > COLUMNS) [x, y, rowHeight] = [0, y + rowHeight, 0];
    const gridPos = { x, y, w, h };
    x += w;
    rowHeight = Math.max(rowHeight, h);
    return { panel, gridPos };
  });
}
