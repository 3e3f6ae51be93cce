import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { Ellipsis } from '../../ui/icons.tsx';
import { lazy, Suspense, useState } from 'react';
import { modelQuery, shelve, type Model, type Price } from '../../api/catalogue.ts';
import { pricesQuery } from '../../api/models.ts';
import { paths } from '../../paths.ts';
import { useAct } from '../../ui/forms/act.ts';
import { Button } from '../../ui/forms/button.tsx';
import { ConfirmDialog } from '../../ui/forms/confirm-dialog.tsx';
import { Count } from '../../ui/figures.tsx';
import { Menu } from '../../ui/menu.tsx';
import { Facts, Page as Frame, Panel } from '../../ui/page.tsx';
import { Loaded } from '../../ui/states.tsx';
import { useSearchState, withDefault, z } from '../../ui/tables/search-state.ts';
import { Tabs } from '../../ui/tabs.tsx';
import { useNow } from '../../ui/time/time.tsx';
import { useSpeech, useWords } from '../../words/words.ts';
import { RoutesTable } from '../admin-routing/routes-table.tsx';
import { useShownRoutes } from '../admin-routing/use-shown-routes.ts';
import { DeleteModelDialog, EditModelDialog } from './model-dialogs.tsx';
import { PriceTimeline } from './price-timeline.tsx';
import { SetPriceDialog } from './set-price.tsx';
import { ShelfBadge } from './shelf-badge.tsx';

const ModelUsage = lazy(async () => ({
  default: (await import('./model-usage.tsx')).ModelUsage,
}));

const TABS = {
  en: { setup: 'Prices and routes', usage: 'Usage' },
  zh: { setup: '价格与路由', usage: '用量' },
};

const search = z.object({ tab: withDefault(z.enum(['setup', 'usage']), 'setup') });

export function Page() {
  const { admin } = useWords();
  const { id = '' } = useParams({ strict: false });
  const found = useQuery(modelQuery(Number(id)));
  if (found.data) return <ModelPage of={found.data} />;
  return (
    <Frame
      title={admin.users.model}
      parent={{ to: paths.adminModels(), label: admin.models.title }}
    >
      <Panel>
        <Loaded of={found}>{() => null}</Loaded>
      </Panel>
    </Frame>
  );
}

type Open = 'edit' | 'price' | 'withdraw' | 'delete' | undefined;

function ModelPage({ of: model }: { of: Model }) {
  const { admin } = useWords();
  const { models } = admin;
  const [open, setOpen] = useState<Open>();
  const prices = useQuery(pricesQuery(model.id));
  // A price that was set just now is in force before the reader's watch steps on.
  const inForce = priceInForce(prices.data?.data ?? [], Math.max(useNow(), prices.dataUpdatedAt));
  return (
    <Frame
      title={model.name}
      parent={{ to: paths.adminModels(), label: models.title }}
      actions={
        <>
          <SellOrPrice
            of={model}
            hasPrice={inForce !== undefined}
            onPrice={() => setOpen('price')}
          />
          <ModelMenu of={model} open={setOpen} />
        </>
      }
    >
      <ModelFacts of={model} />
      <ModelTabs of={model} prices={prices} inForce={inForce} />
      <ModelPageDialogs of={model} open={open} onClose={() => setOpen(undefined)} />
    </Frame>
  );
}

interface ModelTabsProps {
  of: Model;
  prices: UseQueryResult<{ data: Price[] }>;
  inForce: Price | undefined;
}

/** Shows its prices and routes, and what it is used for. */
function ModelTabs({ of: model, prices, inForce }: ModelTabsProps) {
  const { language } = useSpeech();
  const [{ tab }, change] = useSearchState(search);
  return (
    <Tabs
      open={tab}
      onOpen={(next) => change({ tab: next })}
      tabs={[
        {
          id: 'setup',
          label: TABS[language].setup,
          content: <ModelSetup of={model} prices={prices} inForce={inForce} />,
        },
        {
          id: 'usage',
          label: TABS[language].usage,
          content: (
            <Suspense fallback={null}>
              <ModelUsage of={model} />
            </Suspense>
          ),
        },
      ]}
    />
  );
}

function ModelSetup({ of: model, prices, inForce }: ModelTabsProps) {
  const { models } = useWords().admin;
  const routes = useShownRoutes({ modelId: model.id });
  return (
    <>
      <Panel title={models.prices} isFlush>
        <Loaded of={prices}>{({ data }) => <PriceTimeline rows={data} inForce={inForce} />}</Loaded>
      </Panel>
      <Panel title={models.routes} isFlush>
        <RoutesTable of={routes} shared="model" empty={models.noRoutes} />
      </Panel>
    </>
  );
}

interface SellOrPriceProps {
  of: Model;
  hasPrice: boolean;
  onPrice: () => void;
}

function SellOrPrice({ of: model, hasPrice, onPrice }: SellOrPriceProps) {
  const { models } = useWords().admin;
  const sell = useAct({
    act: () => shelve(model.id, true),
    done: () => models.saved,
  });
  return model.is_on_shelf ? (
    <Button onClick={onPrice}>{models.newPrice}</Button>
  ) : (
    <Button
      look="primary"
      isBusy={sell.isBusy}
      blockedBy={hasPrice ? undefined : models.noPrice}
      onClick={() => sell.run(undefined)}
    >
      {models.sell}
    </Button>
  );
}

interface ModelPageDialogsProps {
  of: Model;
  open: Open;
  onClose: () => void;
}

function ModelPageDialogs({ of: model, open, onClose }: ModelPageDialogsProps) {
  const { models } = useWords().admin;
  const navigate = useNavigate();
  return (
    <>
      <EditModelDialog of={model} isOpen={open === 'edit'} onClose={onClose} />
      <SetPriceDialog of={model} isOpen={open === 'price'} onClose={onClose} />
      <ConfirmDialog
        title={`${models.withdraw}: ${model.name}`}
        text={models.withdrawText}
        verb={models.withdraw}
        isOpen={open === 'withdraw'}
        onClose={onClose}
        act={() => shelve(model.id, false)}
        done={() => models.saved}
      />
      <DeleteModelDialog
        of={model}
        isOpen={open === 'delete'}
        onClose={onClose}
        onDeleted={() => navigate({ to: paths.adminModels() })}
      />
    </>
  );
}

function ModelMenu({ of: model, open }: { of: Model; open: (what: Open) => void }) {
  const { admin, general } = useWords();
  const { models } = admin;
  return (
    <Menu
      trigger={<Button icon={<Ellipsis aria-hidden className="size-4" />}>{general.more}</Button>}
      acts={[
        { label: models.edit, onAct: () => open('edit') },
        model.is_on_shelf
          ? { label: models.withdraw, onAct: () => open('withdraw') }
          : { label: models.newPrice, onAct: () => open('price') },
        { label: models.remove, isDanger: true, onAct: () => open('delete') },
      ]}
    />
  );
}

function ModelFacts({ of: model }: { of: Model }) {
  const { admin } = useWords();
  const { models } = admin;
  const count = (value: number | null) => (value === null ? '–' : <Count count={value} isWhole />);
  return (
    <Panel>
      <Facts
        facts={[
          { name: models.shelf, value: <ShelfBadge of={model} /> },
          { name: models.displayName, value: model.display_name },
          { name: models.kind, value: models.kinds[model.kind] },
          { name: models.ownedBy, value: model.owned_by },
          { name: models.context, value: count(model.context_window) },
          { name: models.maxOutput, value: count(model.max_output_tokens) },
        ]}
      />
    </Panel>
  );
}

/** Returns the price in force: the first of the versions, newest first, that has begun. */
function priceInForce(prices: readonly Price[], now: number): Price | undefined {
  return prices.find(({ effective_at: at }) => Date.parse(at) <= now);
}
