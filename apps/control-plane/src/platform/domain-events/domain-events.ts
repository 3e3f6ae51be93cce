import { Injectable } from '@nestjs/common';

/** A class of facts, which the feature that publishes them declares. */
type FactClass<Fact> = abstract new (...fields: never[]) => Fact;

interface Handler {
  handle(fact: object): Promise<void> | void;
}

/** Facts that a feature publishes and later features act upon, so that the earlier one imports none of them. */
@Injectable()
export class DomainEvents {
  private readonly handlers = new Map<unknown, Handler[]>();

  /** `handle` is idempotent: a fact whose publication failed is published again. */
  on<Fact extends object>(
    facts: FactClass<Fact>,
    handle: (fact: Fact) => Promise<void> | void,
  ): void {
    this.handlers.set(facts, [...(this.handlers.get(facts) ?? []), { handle }]);
  }

  /** Waits for all handlers, one after another. Throws what a handler throws: what the fact demands is not done then. */
  async publish(fact: object): Promise<void> {
    for (const handler of this.handlers.get(fact.constructor) ?? []) await handler.handle(fact);
  }
}
