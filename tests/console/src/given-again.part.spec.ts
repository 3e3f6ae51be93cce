import { expect, test } from '@jest/globals';
import pg from 'pg';
import { WITHOUT } from './stage.ts';
import {
  button,
  describeInBrowser,
  dialog,
  inDialog,
  rowOf,
  stage,
  STORY_MS,
  visitor,
} from './administrator-under-test.ts';

async function ageSessions(): Promise<void> {
  const database = new pg.Client({ connectionString: stage.tollgate.databaseUrl });
  await database.connect();
  await database.query("UPDATE sessions SET password_at = now() - interval '16 minutes'");
  await database.end();
}

describeInBrowser(`an administrator whose password was given long ago${WITHOUT}`, () => {
  test(
    'gives it again above the form that needs it, which is sent then; revoking the token offers to disable what it made',
    async () => {
      const { page } = visitor;
      await ageSessions();
      await visitor.go('/settings');
      await button('Create token').first().click();
      await dialog().getByLabel('Name').fill('robot');
      await dialog().getByLabel('May').selectOption('admin');
      await inDialog('Create token').click();

      const question = page.getByRole('dialog', { name: 'Your password again' });
      await question.getByLabel('Password', { exact: true }).fill('a wrong guess');
      await question.getByRole('button', { name: 'Continue' }).click();
      await question.getByText('The current password is wrong').waitFor();
      const { password } = stage.tollgate.adminCredentials;
      await question.getByLabel('Password', { exact: true }).fill(password);
      await question.getByRole('button', { name: 'Continue' }).click();
      await page.getByRole('dialog', { name: 'Copy the token now' }).waitFor();
      const token = (await dialog().locator('code').textContent()) ?? '';
      await inDialog('Close').first().click();

      const made = await fetch(`${stage.tollgate.adminUrl}/admin-api/users`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ username: 'made-by-robot' }),
      });
      expect(made.status).toBe(201);
      await rowOf('Access tokens', 'robot').getByRole('button', { name: 'Revoke' }).click();
      await dialog().getByText('It made: made-by-robot').waitFor();
      await dialog().getByRole('checkbox').check();
      await inDialog('Revoke').click();
      await page.getByText('robot is revoked').waitFor();
      const [user] = await stage.tollgate.admin.list('/users?q=made-by-robot');
      expect(user?.status).toBe('frozen');
    },
    STORY_MS,
  );

  test(
    'without it the form stays as it is, and says that it is needed',
    async () => {
      await ageSessions();
      await visitor.go('/settings');
      await button('Create token').first().click();
      await dialog().getByLabel('Name').fill('never');
      await inDialog('Create token').click();
      const question = visitor.page.getByRole('dialog', { name: 'Your password again' });
      await question.getByRole('button', { name: 'Cancel' }).click();
      await dialog().getByText('This needs your password again').waitFor();
      expect(await dialog().getByLabel('Name').inputValue()).toBe('never');
    },
    STORY_MS,
  );
});
