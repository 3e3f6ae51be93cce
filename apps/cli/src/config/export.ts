import { stringify } from 'yaml';
import { fieldsOf, type Section } from './config-file.ts';
import type { Installation } from './installation.ts';

/** Lists the sections whose null values differ from absent ones: a model takes absent values from its family. */
const STATES_NULL: ReadonlySet<Section> = new Set(['models']);

/** Returns the installation as a file whose plan has no step. Secrets become references to environment variables. */
export function exportConfig(installation: Installation): string {
  const { upstreams, models, prices, routes, ceilings } = installation;
  const names = new Map(upstreams.map(({ id, name }) => [id, name]));
  return stringify(
    {
      upstreams: Object.fromEntries(
        upstreams.map((upstream) => [
          upstream.name,
          { ...stated('upstreams', upstream), ...secretOf(upstream) },
        ]),
      ),
      models: Object.fromEntries(
        models.map((model) => {
          const price = prices.get(model.id);
          const own = routes.filter((route) => route.model_id === model.id);
          return [
            model.name,
            {
              ...stated('models', model),
              ...(price && { price: stated('pricing', price) }),
              is_on_shelf: model.is_on_shelf,
              routes: own.map((route) => ({
                upstream: names.get(route.upstream_id),
                ...stated('routing', route),
              })),
            },
          ];
        }),
      ),
      ceilings: stated('ceilings', ceilings),
    },
    { lineWidth: 0 },
  );
}

/** Returns the writable fields without those that have their default. */
function stated(section: Section, record: object): Record<string, unknown> {
  const known = fieldsOf(section);
  return Object.fromEntries(
    Object.entries(record).filter(
      ([name, value]) =>
        known.has(name) && !isEmpty(value) && (value !== null || STATES_NULL.has(section)),
    ),
  );
}

function isEmpty(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return value === '' || value === undefined;
}

/** Only their owner knows the members of a credential that is not a key; `missingSecrets` names them. */
function secretOf(upstream: Installation['upstreams'][number]): Record<string, unknown> {
  if (!upstream.has_api_key || upstream.auth_type !== 'api_key') return {};
  const name = upstream.name.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_');
  return { api_key: { env: `UPSTREAM_${name}_API_KEY` } };
}

/** Returns the upstreams whose credential the file does not contain. */
export function missingSecrets({ upstreams }: Installation): string[] {
  return upstreams
    .filter((upstream) => upstream.has_api_key && upstream.auth_type !== 'api_key')
    .map(({ name }) => name);
}
