import { useMe } from '../../api/session.ts';
import { Facts, Page as Frame, Panel } from '../../ui/page.tsx';
import { Exact } from '../../ui/time/time.tsx';
import { useWords } from '../../words/words.ts';
import { AccessTokens } from './access-tokens.tsx';
import { Appearance } from './appearance.tsx';
import { PasswordForm } from './password-form.tsx';
import { Sessions } from './sessions.tsx';

export function Page() {
  const { settings } = useWords();
  const me = useMe();
  return (
    <Frame title={settings.title} purpose={settings.purpose}>
      <Panel title={settings.profile}>
        <Facts
          facts={[
            { name: settings.username, value: me.username },
            { name: settings.role, value: settings.roles[me.role] },
            { name: settings.accountId, value: <code>{me.id}</code> },
            { name: settings.memberSince, value: <Exact at={me.created_at} isBrief /> },
          ]}
        />
      </Panel>
      <Panel title={settings.appearance}>
        <Appearance />
      </Panel>
      <Sessions />
      <AccessTokens />
      <Panel title={settings.password}>
        <PasswordForm />
      </Panel>
    </Frame>
  );
}
