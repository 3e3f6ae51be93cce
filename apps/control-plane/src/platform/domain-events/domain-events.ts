import { Injectable } from '@nestjs/common';

/** Is the class of an event, which the publishing feature declares. */
type FactClass<Fact> = abstract new (...fields: never[]) => Fact;

interface Handler {
  handle(fact: object): Promise<void> | void;
}

/** Carries events from the feature that publishes them to later features, so that the earlier feature imports none of the later ones. */
@Injectable()
export class DomainEvents {
  private readonly handlers = new Map<unknown, Handler[]>();

  /** Registers a handler. `handle` must be idempotent: an event whose publication failed is published again. */
  on<Fact extends object>(
    facts: FactClass<Fact>,
    handle: (fact: Fact) => Promise<void> | void,
  ): void {
    this.handlers.set(facts, [...(this.handlers.get(facts) ?? []), { handle }]);
  }

  /** Runs all handlers one after another and waits for them. Throws the error of a handler; the event is then not fully handled. */
  async publish(fact: object): Promise<void> {
    for (const handler of this.handlers.get(fact.constructor) ?? []) await handler.handle(fact);
  }
}
