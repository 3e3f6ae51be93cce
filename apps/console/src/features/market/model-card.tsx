import type { MarketModel, MyModel } from '../../api/models.ts';
import { paths } from '../../paths.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button, ButtonLink, TextLink } from '../../ui/forms/button.tsx';
import { CopyText } from '../../ui/copy.tsx';
import { Count } from '../../ui/figures.tsx';
import { useWords } from '../../words/words.ts';
import { PriceText } from './price-text.tsx';
import { Weights } from './weights.tsx';

interface ModelCardProps {
  model: MarketModel;
  subscription: MyModel | undefined;
  onBuy: () => void;
}

/** Shows a model for choosing: its name, its cost, and whether the account has it. */
export function ModelCard({ model, subscription, onBuy }: ModelCardProps) {
  const { market } = useWords();
  const title = model.display_name === '' ? model.name : model.display_name;
  return (
    <article className="flex h-full flex-col gap-3 rounded-md border border-line bg-surface p-4">
      <header className="flex items-start gap-2">
        <div className="min-w-0 flex-1">
          <h2 className="foreign line-clamp-2 font-semibold">
            {subscription ? <TextLink to={paths.model(model.id)}>{title}</TextLink> : title}
          </h2>
          <CopyText text={model.name} label={market.model} />
        </div>
        <Badge tone={subscription ? 'good' : 'off'}>
          {subscription ? market.subscribed : market.kinds[model.kind]}
        </Badge>
      </header>
      {model.description !== '' && (
        <p className="foreign line-clamp-3 text-text-2">{model.description}</p>
      )}
      <div className="flex flex-col gap-0.5">
        <PriceText price={model.price} />
        {model.price && (
          <span className="text-table">
            <Weights price={model.price} />
          </span>
        )}
      </div>
      <ModelFacts model={model} />
      <CardFoot model={model} subscription={subscription} onBuy={onBuy} />
    </article>
  );
}

function CardFoot({ model, subscription, onBuy }: ModelCardProps) {
  const { market } = useWords();
  return (
    <footer className="mt-auto flex items-center gap-2 border-t border-line pt-3">
      {subscription && (
        <span className="mr-auto text-table text-text-2">
          {market.yours}{' '}
          <span className="font-medium text-text">
            <Count count={subscription.tokens} />
          </span>
        </span>
      )}
      {subscription && (
        <ButtonLink size="small" to={paths.model(model.id)}>
          {market.open}
        </ButtonLink>
      )}
      <Button
        size="small"
        className={subscription ? '' : 'ml-auto'}
        look={subscription ? 'secondary' : 'primary'}
        blockedBy={model.price === null ? market.noPrice : undefined}
        onClick={onBuy}
      >
        {subscription ? market.buyMore : market.subscribe}
      </Button>
    </footer>
  );
}

function ModelFacts({ model }: { model: MarketModel }) {
  const { market } = useWords();
  const facts = [
    { name: market.context, count: model.context_window },
    { name: market.maxOutput, count: model.max_output_tokens },
  ].flatMap(({ name, count }) => (count === null ? [] : [{ name, count }]));
  if (facts.length === 0 && model.aliases.length === 0) return null;
  return (
    <div className="flex flex-col gap-0.5 text-table text-text-2">
      {facts.length > 0 && (
        <p className="flex flex-wrap gap-x-4">
          {facts.map(({ name, count }) => (
            <span key={name}>
              {name} <Count count={count} />
            </span>
          ))}
        </p>
      )}
      {model.aliases.length > 0 && (
        <p className="foreign line-clamp-2">{market.aliases(model.aliases.join(', '))}</p>
      )}
    </div>
  );
}
