import type { AddressInfo } from 'node:net';
import { createDemoUpstream, type ProviderRecord } from '@tollgate/demo-upstream';
import {
  startNodeUnderTest,
  type NodeUnderTest,
} from '../../../apps/proxy-node/src/testing/node-under-test.ts';

export type SnapshotModel = Awaited<ReturnType<NodeUnderTest['addModel']>>;

/** Is a node, and a demo upstream that knows what it reported. */
export interface DemoNode {
  node: NodeUnderTest;
  /** Is the upstream's address, with /v1. */
  baseUrl: string;
  record: ProviderRecord;
  stop: () => Promise<void>;
}

export async function startDemoNode(environment: Record<string, string> = {}): Promise<DemoNode> {
  const { server, record } = createDemoUpstream();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const node = await startNodeUnderTest(environment);
  const stop = async (): Promise<void> => {
    await node.stop();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { node, baseUrl, record, stop };
}
