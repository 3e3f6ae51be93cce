import { expect, test } from '@jest/globals';
import { WITHOUT } from './stage.ts';
import {
  button,
  describeInBrowser,
  dialog,
  inDialog,
  stage,
  STORY_MS,
  visitor,
} from './administrator-under-test.ts';

describeInBrowser(`the forms of an administrator${WITHOUT}`, () => {
  test(
    'set the limits of an upstream, and keep what was not changed',
    async () => {
      const { page } = visitor;
      await stage.tollgate.admin.createUpstream({
        name: 'limited',
        protocol: 'openai',
        base_url: `${stage.tollgate.upstreamUrl}/v1`,
        api_key: 'demo-upstream-key',
      });
      await visitor.go('/admin/upstreams');
      await page.getByRole('link', { name: 'limited' }).click();
      await button('More actions').click();
      await page.getByRole('menuitem', { name: 'Edit' }).click();
      await dialog().getByLabel('Silence').fill('45000');
      await dialog().getByLabel('Requests at a time').fill('7');
      await dialog().getByLabel('Headers').fill('x-team: research\nX-Cost-Centre: 12');
      await dialog()
        .getByLabel('Stops billing when a stream is closed')
        .selectOption({ label: 'Yes' });
      await dialog().getByLabel('Further endpoints').selectOption({ label: 'Those below' });
      await dialog().getByLabel('completions').check();
      await dialog().getByLabel('responses').uncheck();
      // The button is in sight though the form is longer than the window.
      const box = await inDialog('Save changes').boundingBox();
      expect((box?.y ?? Infinity) + (box?.height ?? 0)).toBeLessThan(
        page.viewportSize()?.height ?? 0,
      );
      await inDialog('Save changes').click();
      await page.getByText('Changes saved').first().waitFor();
      const [upstream] = await stage.tollgate.admin.list('/upstreams?q=limited');
      expect(upstream).toMatchObject({
        idle_timeout_ms: 45_000,
        max_concurrency: 7,
        headers: { 'x-team': 'research', 'x-cost-centre': '12' },
        stops_billing_on_close: true,
        closes_streams: true,
        endpoints: ['completions'],
        has_api_key: true,
      });
    },
    STORY_MS,
  );

  test(
    'set further names, description and holds of a model, and name a wrong one at its field',
    async () => {
      const { page } = visitor;
      await stage.tollgate.admin.createModel({ name: 'described' });
      await visitor.go('/admin/models');
      await page.getByRole('link', { name: 'described' }).first().click();
      await button('More actions').click();
      await page.getByRole('menuitem', { name: 'Edit' }).click();
      await dialog().getByLabel('Further names').fill('first, second');
      await dialog().getByLabel('Description').fill('For long documents');
      await dialog().getByLabel('Default output').fill('0');
      await dialog().getByLabel('Tokens held for an unbounded input').fill('2000');
      await dialog().getByLabel('Reads more than it is sent').check();
      await dialog().getByLabel('Caches prompts').check();
      await inDialog('Save changes').click();
      await dialog().getByText('At least 1').waitFor();
      await dialog().getByLabel('Default output').fill('512');
      await inDialog('Save changes').click();
      await page.getByText('Changes saved').first().waitFor();
      const [model] = await stage.tollgate.admin.list('/models?q=described');
      expect(model).toMatchObject({
        aliases: ['first', 'second'],
        description: 'For long documents',
        default_output_tokens: 512,
        unbounded_input_tokens: 2_000,
        reads_more_than_sent: true,
        caches_prompts: true,
      });
    },
    STORY_MS,
  );
});
