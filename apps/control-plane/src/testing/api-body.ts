import type { components, paths } from '@tollgate/admin-client';

type Problem = components['schemas']['Problem'];
type Segments<Path extends string> = Path extends `${infer Head}/${infer Rest}`
  ? [Head, ...Segments<Rest>]
  : [Path];
type WithoutQuery<Path extends string> = Path extends `${infer Name}?${string}` ? Name : Path;

/** Is true where each segment of a path is that of the documented path or takes the place of a parameter. */
type Fits<Path, Documented> = Documented extends [infer Wanted, ...infer WantedRest]
  ? Path extends [infer Given, ...infer GivenRest]
    ? Wanted extends `{${string}}`
      ? Fits<GivenRest, WantedRest>
      : Given extends Wanted
        ? Fits<GivenRest, WantedRest>
        : false
    : false
  : Path extends []
    ? true
    : false;

type SegmentsOfRoutes = { [Route in keyof paths]: Segments<Route & string> };
/** `/users/me` is the route of that name before it is an id of `/users/{id}`. */
type RouteOf<Path extends string> = Path extends keyof paths
  ? Path
  : {
      [Route in keyof paths]: Fits<Segments<Path>, SegmentsOfRoutes[Route]> extends true
        ? Route
        : never;
    }[keyof paths];

/** Is the JSON of a route that answers both JSON and text. */
type Content<Response> = Response extends { content: { 'application/json': infer Json } }
  ? Json
  : Response extends { content: infer Types }
    ? Types[keyof Types]
    : never;
/** Every field has its value and every list a first item: a spec that reads one that is missing fails by itself. */
type Present<Value> = Value extends readonly (infer Item)[]
  ? [Present<Item>, ...Present<Item>[]]
  : Value extends object
    ? { [Field in keyof Value]-?: Present<NonNullable<Value[Field]>> }
    : Value;
type Success<Operation> = Operation extends { responses: infer Responses }
  ? {
      [Status in keyof Responses]: Status extends 200 | 201 | 202
        ? Content<Responses[Status]>
        : never;
    }[keyof Responses]
  : never;
/** Has fields of the documented answer and of a problem: the status of the answer says which it is. */
type OrProblem<Body> = [Body] extends [never]
  ? Present<Problem>
  : Body extends object
    ? Present<Body> & Omit<Present<Problem>, keyof Body>
    : Body;

/** Is the body of an answer by method and path below /admin-api. A path that is computed gives the fields of a problem only. */
export type ApiBody<Method extends string, Path extends string> = string extends Path
  ? Present<Problem>
  : OrProblem<
      Success<
        RouteOf<`/admin-api${WithoutQuery<Path>}`> extends infer Route extends keyof paths
          ? paths[Route][Lowercase<Method> & keyof paths[Route]]
          : never
      >
    >;
