/** The host as it is written before a port: an IPv6 address in brackets. */
export function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}

/** Whether it means every address of this machine, which others cannot connect to. */
export function isWildcard(host: string): boolean {
  return /^(?:0\.0\.0\.0|\[?::\]?|)$/.test(host);
}
