import { useQuery } from '@tanstack/react-query';
import { userQuery } from '../../api/users.ts';
import { paths } from '../../paths.ts';
import { TextLink } from '../../ui/forms/button.tsx';

/** Shows an account by its name, which leads to its page; one that is deleted keeps its number. */
export function AccountName({ id }: { id: number }) {
  const { data } = useQuery({ ...userQuery(id), retry: false });
  return (
    <TextLink to={paths.adminUser(id)} className="foreign">
      {data?.username ?? String(id)}
    </TextLink>
  );
}
