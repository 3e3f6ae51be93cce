import { DefaultNamingStrategy } from 'typeorm';

/** Derives a column's name from its property in snake case, so that an entity repeats no name: `createdAt` becomes `created_at`. */
export class SnakeCaseNames extends DefaultNamingStrategy {
  override columnName(
    property: string,
    chosen: string | undefined,
    prefixes: readonly string[],
  ): string {
    return chosen ?? [...prefixes, property].map(snakeCase).join('_');
  }
}

const snakeCase = (name: string): string =>
  name.replaceAll(/(?<=[a-z0-9])[A-Z]/g, (capital) => `_${capital}`).toLowerCase();
