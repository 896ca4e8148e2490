/** What a token may be for. `read` looks, `submit` also starts and stops work, `worker` speaks the workers'
 * protocol and nothing else, `admin` may do everything. */
export const ROLES = ['admin', 'submit', 'read', 'worker'] as const;

export type Role = (typeof ROLES)[number];

const GRANTS: Readonly<Record<Role, ReadonlySet<Role>>> = {
  admin: new Set(ROLES),
  submit: new Set<Role>(['submit', 'read']),
  read: new Set<Role>(['read']),
  worker: new Set<Role>(['worker']),
};

/** A role, or several of which any one is enough. */
export type Needed = Role | readonly Role[];

export function grants(role: Role, needed: Needed): boolean {
  return [needed].flat().some((each) => GRANTS[role].has(each));
}

export function isRole(word: unknown): word is Role {
  return ROLES.some((role) => role === word);
}
