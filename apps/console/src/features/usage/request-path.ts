import { useLocation } from '@tanstack/react-router';
import { paths } from '../../paths.ts';

/** Returns the path of a request's page: administrators stay in administration. */
export function useRequestPath(): (rid: string) => string {
  const { pathname } = useLocation();
  return pathname.startsWith(paths.admin()) ? paths.adminRequest : paths.request;
}
