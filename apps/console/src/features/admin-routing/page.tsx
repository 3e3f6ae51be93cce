import { Plus } from '../../ui/icons.tsx';
import { useState } from 'react';
import { Button } from '../../ui/forms/button.tsx';
import { Page as Frame, Panel } from '../../ui/page.tsx';
import { optional, useSearchState, withDefault, z } from '../../ui/tables/search-state.ts';
import { installationStepsQuery } from '../../api/admin.ts';
import { CLIENT_PROTOCOLS } from '../../api/tables.ts';
import { useWords } from '../../words/words.ts';
import { RoutingPicture } from './picture.tsx';
import { RouteDialog } from './route-dialog.tsx';
import { RoutesTable } from './routes-table.tsx';
import { Simulation } from './simulation.tsx';
import { routesQuery, routingHealthQuery, upstreamsQuery } from '../../api/upstreams.ts';
import { catalogueQuery } from '../../api/catalogue.ts';
import { NextInstallationStep } from '../admin-overview/installation-steps.tsx';
import type { Prefetch } from '../../page-module.ts';

const search = z.object({
  model: optional(z.coerce.number()),
  protocol: withDefault(z.enum(CLIENT_PROTOCOLS), 'chat'),
  create: optional(z.literal('1')),
});

export const prefetch: Prefetch = (ask) => {
  ask(routesQuery);
  ask(catalogueQuery({}));
  ask(upstreamsQuery);
  ask(routingHealthQuery);
  ask(installationStepsQuery);
};

export function Page() {
  const { admin } = useWords();
  const { routing } = admin;
  const [{ model, protocol, create }, change] = useSearchState(search);
  const [isCreating, setCreating] = useState(create === '1');
  return (
    <Frame
      title={routing.title}
      purpose={routing.purpose}
      actions={
        <Button
          look="primary"
          icon={<Plus aria-hidden className="size-4" />}
          onClick={() => setCreating(true)}
        >
          {routing.add}
        </Button>
      }
    >
      <NextInstallationStep />
      <Panel title={routing.picture} note={routing.pictureHint}>
        <RoutingPicture />
      </Panel>
      <Simulation modelId={model} protocol={protocol} onChange={change} />
      <Panel isFlush>
        <RoutesTable empty={routing.emptyText} />
      </Panel>
      <RouteDialog
        isOpen={isCreating}
        onClose={() => {
          setCreating(false);
          change({ create: undefined });
        }}
      />
    </Frame>
  );
}
