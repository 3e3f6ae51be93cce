/**
 * Matches a project id, optionally with the domain of an older organisation, or a project number:
 * https://cloud.google.com/resource-manager/docs/creating-managing-projects.
 */
const PROJECT = /^(?:(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]|[1-9]\d{3,19})$/;
/** Matches a region, a multi-region or `global`: https://cloud.google.com/vertex-ai/docs/general/locations. */
const LOCATION = /^(?:[a-z]{2,20}-[a-z]{2,20}\d{1,2}|us|eu|global)$/;

const PLACES = /^\/v1(?:beta1)?\/projects\/([^/]+)\/locations\/([^/]+)$/;

const VERTEX_PATH = 'must end in /v1/projects/PROJECT/locations/LOCATION for the vertex protocol';
const VERTEX_PROJECT = 'must name the id or the number of a project';
const VERTEX_LOCATION = 'must name a location such as us-central1 or global';
const VERTEX_HOST = 'must have the host of the location that its path names';

export const VERTEX_RULES = [VERTEX_PATH, VERTEX_PROJECT, VERTEX_LOCATION, VERTEX_HOST] as const;

/** Returns why an address is invalid for the vertex protocol; null when it is valid. */
export function vertexAddressFault({ pathname, hostname }: URL): string | null {
  const [, project, location] = PLACES.exec(pathname.replace(/\/+$/, '')) ?? [];
  if (project === undefined || location === undefined) return VERTEX_PATH;
  if (!PROJECT.test(decodeURIComponent(project))) return VERTEX_PROJECT;
  if (!LOCATION.test(location)) return VERTEX_LOCATION;
  const isGoogles = hostname.endsWith('.googleapis.com');
  return isGoogles && !hostsOf(location).includes(hostname) ? VERTEX_HOST : null;
}

function hostsOf(location: string): string[] {
  if (location === 'global') return ['aiplatform.googleapis.com'];
  return [`${location}-aiplatform.googleapis.com`, `aiplatform.${location}.rep.googleapis.com`];
}
