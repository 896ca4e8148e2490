/**
 * Who may run what, kept up to date so that nobody has to search.
 *
 * Nodes that may serve the same set of requirements form a group. Everything that changes what a
 * node may serve (registration, drain, quarantine, a missing executor, a limit per node reached)
 * moves it to another group; scheduling itself then never looks at nodes one by one. A new
 * requirement costs one look at each node; after that a task costs O(groups) at most.
 */
import type { Placement } from '../document/document.ts';
import type { NodeId } from '../ids.ts';
import type { Node } from '../node/node.ts';
import { invariant } from '../errors.ts';
import { meets } from '../node/capability.ts';
import { canonicalJson } from '../json.ts';
import type { Json } from '../json.ts';
import { Group } from './group.ts';
import { Places } from './places.ts';
import { UNRESTRICTED, Requirement } from './requirement.ts';
import type { PlacementRestriction } from './requirement.ts';

/** Requirements without tasks are kept this long, so that a lone repeated task costs no rebuild. */
const IDLE_REQUIREMENTS_MAX = 256;

type Hash = readonly [number, number];

export class Matching {
  readonly #nodes: Set<Node> = new Set();
  readonly #requirements: Map<string, Requirement> = new Map();
  readonly #texts: WeakMap<Placement, string> = new WeakMap();
  readonly #groups: Map<string, Group> = new Map();
  readonly #hashes: Map<Group, Hash> = new Map();
  readonly #idle: Set<Requirement> = new Set();
  /** Requirements that differ in their restriction only. */
  readonly #kin: Map<string, Set<Requirement>> = new Map();
  /** Those whose tasks run alone. */
  readonly alone: Set<Requirement> = new Set();
  /** Executors whose tasks are given to no node. */
  readonly #paused: Set<string> = new Set();
  /** Nodes that are the last choice for all work. */
  readonly quarantined: Set<Node> = new Set();
  /** Nodes that are being emptied. */
  readonly cleared: Set<Node> = new Set();
  /** Groups with a waiting node and maybe work: what the next assignment pass looks at. */
  readonly active: Set<Group> = new Set();
  readonly places: Places = new Places(this.#nodes);
  #lastId = 0;
  #lastRequired: Requirement | null = null;

  get groupCount(): number {
    return this.#groups.size;
  }

  /** Requirements that tasks in memory have. */
  get inUse(): number {
    return this.#requirements.size - this.#idle.size;
  }

  /** The shared requirement of all tasks that ask the same; counts one more task. */
  require(
    executor: string,
    placement: Placement,
    restriction: PlacementRestriction = UNRESTRICTED,
  ): Requirement {
    const last = this.#lastRequired;
    const isSame = last?.executor === executor && last.placement === placement;
    // Most tasks ask what the one before has asked: no text is made to look it up.
    if (last !== null && isSame && last.restriction === restriction) return this.#named(last);
    const asked = `${executor}/${this.#textOf(placement)}`;
    const text = restriction === UNRESTRICTED ? asked : `${asked}/${restrictionText(restriction)}`;
    let requirement = this.#requirements.get(text);
    if (requirement === undefined) {
      this.#lastId += 1;
      const kin = this.#kin.get(asked) ?? new Set();
      this.#kin.set(asked, kin);
      requirement = new Requirement(this.#lastId, text, { executor, placement, restriction }, kin);
      this.#requirements.set(text, requirement);
      if (restriction.isAlone) this.alone.add(requirement);
      for (const node of this.#nodes) this.#introduce(node, requirement);
    }
    this.#lastRequired = requirement;
    return this.#named(requirement);
  }

  #named(requirement: Requirement): Requirement {
    if (requirement.tasks === 0) this.#idle.delete(requirement);
    requirement.tasks += 1;
    return requirement;
  }

  /** One task less. */
  release(requirement: Requirement): void {
    requirement.tasks -= 1;
    if (requirement.tasks > 0) return;
    this.#idle.add(requirement);
    if (this.#idle.size <= IDLE_REQUIREMENTS_MAX) return;
    const [oldest] = this.#idle;
    if (oldest !== undefined) this.#drop(oldest);
  }

  add(node: Node): void {
    this.#nodes.add(node);
    for (const requirement of this.#requirements.values()) {
      if (isMetBy(requirement, node)) node.meets.add(requirement);
    }
    this.update(node);
  }

  remove(node: Node): void {
    for (const requirement of node.able) this.#countAble(requirement, -1);
    node.able.clear();
    node.meets.clear();
    this.#leave(node);
    this.#nodes.delete(node);
    this.places.changed();
    this.quarantined.delete(node);
    this.cleared.delete(node);
  }

  /** What the node may be given changed: drain, quarantine, release, a struck executor. */
  update(node: Node): void {
    if (!this.#nodes.has(node)) return;
    this.places.changed();
    if (node.quarantinedUntil === null) this.quarantined.delete(node);
    else this.quarantined.add(node);
    for (const requirement of node.meets) this.#updateAble(node, requirement);
    this.#regroup(node);
  }

  /** Tasks of this executor are given to no node, until it is resumed. */
  pause(executor: string, isPaused: boolean): void {
    if (isPaused) this.#paused.add(executor);
    else this.#paused.delete(executor);
    for (const requirement of this.#requirements.values()) {
      if (requirement.executor !== executor) continue;
      for (const node of this.#nodes) this.#toggle(node, requirement);
    }
  }

  isPaused({ executor }: Requirement): boolean {
    return this.#paused.has(executor);
  }

  /** Empties the node for tasks of this requirement, or gives it back to all others. */
  clear(node: Node, requirement: Requirement | null): void {
    node.clearedFor = requirement;
    if (requirement === null) this.cleared.delete(node);
    else this.cleared.add(node);
    this.update(node);
  }

  /** The node that will be empty soonest, among those that may run the requirement. */
  emptiest(requirement: Requirement): Node | null {
    let best: Node | null = null;
    for (const node of this.nodesThatMeet(requirement)) {
      if (!node.takesWork || node.offer.slots === 0 || isStruck(node, requirement)) continue;
      if (node.clearedFor !== null || node.holdsAlone > 0) continue;
      if (requirement.able > 0 && !node.able.has(requirement)) continue;
      if (best === null || node.leases.size < best.leases.size) best = node;
    }
    return best;
  }

  /** Whether some preferred node would take such a task now if it polled. */
  hasRoomFor(requirement: Requirement, except: NodeId | null = null): boolean {
    for (const group of requirement.groups) {
      for (const node of group.nodes) {
        if (node.id === except || !node.able.has(requirement) || !node.hasRoom) continue;
        if (!requirement.isBulk || node.mayTakeBulk) return true;
      }
    }
    return false;
  }

  /** Whether a node in quarantine may be given such a task: all others that can run it are full. */
  isLastResort(node: Node, requirement: Requirement): boolean {
    if (!node.meets.has(requirement) || !node.takesWork || isStruck(node, requirement))
      return false;
    if (this.isPaused(requirement)) return false;
    return !this.hasRoomFor(requirement);
  }

  /** `held` of `requirement` on the node changed by `by`; a limit per node may open or close. */
  held(node: Node, requirement: Requirement, by: 1 | -1): void {
    if (requirement.isBulk) node.bulkHeld += by;
    invariant(node.bulkHeld >= 0, 'a node holds no fewer than no fragments');
    if (requirement.restriction.isAlone) {
      node.holdsAlone += by;
      invariant(node.holdsAlone >= 0, 'a node runs no fewer than no tasks alone');
      this.#regroup(node);
    } else if (this.alone.size > 0) {
      for (const each of this.alone) this.#toggle(node, each);
    }
    if (requirement.placement.maxParallelPerNode === null) return;
    const { kin } = requirement;
    const count = (node.heldBy.get(kin) ?? 0) + by;
    invariant(count >= 0, 'a node holds no fewer than no tasks of a requirement');
    if (count > 0) node.heldBy.set(kin, count);
    else node.heldBy.delete(kin);
    for (const each of kin) this.#toggle(node, each);
  }

  #updateAble(node: Node, requirement: Requirement): void {
    const isAble =
      node.takesWork && !isLastChoice(node, requirement) && !isStruck(node, requirement);
    if (node.able.has(requirement) === isAble) return;
    if (isAble) node.able.add(requirement);
    else node.able.delete(requirement);
    this.#countAble(requirement, isAble ? 1 : -1);
  }

  /** When the last able node of a requirement goes, nodes in quarantine serve it after all. */
  #countAble(requirement: Requirement, by: 1 | -1): void {
    requirement.able += by;
    invariant(requirement.able >= 0, 'a requirement has no fewer than no able nodes');
    const turned = (by === 1 && requirement.able === 1) || (by === -1 && requirement.able === 0);
    if (!turned) return;
    for (const node of this.#nodes) {
      if (isLastChoice(node, requirement)) this.#toggle(node, requirement);
    }
  }

  #introduce(node: Node, requirement: Requirement): void {
    if (!isMetBy(requirement, node)) return;
    node.meets.add(requirement);
    this.#updateAble(node, requirement);
    this.#toggle(node, requirement);
  }

  #drop(requirement: Requirement): void {
    for (const node of this.#nodes) {
      if (!node.meets.delete(requirement)) continue;
      node.able.delete(requirement);
      this.#toggle(node, requirement);
    }
    if (this.#lastRequired === requirement) this.#lastRequired = null;
    this.#idle.delete(requirement);
    this.#requirements.delete(requirement.text);
    this.alone.delete(requirement);
    requirement.kin.delete(requirement);
    if (requirement.kin.size === 0) {
      this.#kin.delete(`${requirement.executor}/${this.#textOf(requirement.placement)}`);
    }
  }

  #mayServe(node: Node, requirement: Requirement): boolean {
    if (!node.takesWork || !node.meets.has(requirement) || isStruck(node, requirement))
      return false;
    if (this.isPaused(requirement)) return false;
    const max = requirement.placement.maxParallelPerNode;
    if (max !== null && (node.heldBy.get(requirement.kin) ?? 0) >= max) return false;
    if (node.holdsAlone > 0) return false;
    if (requirement.restriction.isAlone && (node.leases.size > 0 || node.offer.slots === 0))
      return false;
    if (node.clearedFor !== null && node.clearedFor !== requirement) return false;
    return !isLastChoice(node, requirement) || requirement.able === 0;
  }

  /** Brings one requirement of one node up to date. */
  #toggle(node: Node, requirement: Requirement): void {
    const from = node.group;
    if (from === null) return;
    const may = this.#mayServe(node, requirement);
    if (from.requirements.has(requirement) === may) return;
    const hash = xor(this.#hashes.get(from) as Hash, requirement.hash);
    this.#place(
      node,
      () => {
        const wanted = new Set(from.requirements);
        if (may) wanted.add(requirement);
        else wanted.delete(requirement);
        return wanted;
      },
      hash,
    );
  }

  #regroup(node: Node): void {
    if (!this.#nodes.has(node)) return;
    const wanted = new Set<Requirement>();
    let hash: Hash = [0, 0];
    for (const requirement of node.meets) {
      if (!this.#mayServe(node, requirement)) continue;
      wanted.add(requirement);
      hash = xor(hash, requirement.hash);
    }
    this.#place(node, () => wanted, hash);
  }

  #place(node: Node, requirements: () => ReadonlySet<Requirement>, hash: Hash): void {
    const key = `${hash[0]}.${hash[1]}`;
    let group = this.#groups.get(key);
    if (group === undefined) {
      group = new Group(requirements());
      this.#groups.set(key, group);
      this.#hashes.set(group, hash);
    }
    if (node.group === group) return;
    this.#leave(node);
    node.group = group;
    group.nodes.add(node);
    this.updateWaiting(node);
  }

  #leave(node: Node): void {
    const group = node.group;
    if (group === null) return;
    group.waiting.delete(node);
    group.nodes.delete(node);
    node.group = null;
    if (group.nodes.size === 0) {
      const hash = this.#hashes.get(group) as Hash;
      group.dissolve();
      this.#groups.delete(`${hash[0]}.${hash[1]}`);
      this.#hashes.delete(group);
      this.active.delete(group);
    }
  }

  /** Whether the node can take more may have changed: its poll, or its free places. */
  updateWaiting(node: Node): void {
    const { group } = node;
    if (group === null) return;
    if (!node.canTakeMore) {
      group.waiting.delete(node);
      return;
    }
    group.waiting.add(node);
    if (group.mayHaveWork) this.active.add(group);
  }

  /** The node has been served: others in its group come first. */
  moveBack(node: Node): void {
    node.group?.waiting.delete(node);
    this.updateWaiting(node);
  }

  /** Requirements that tasks in memory have and no node meets. */
  *unmet(): Iterable<Requirement> {
    for (const requirement of this.#requirements.values()) {
      if (requirement.tasks === 0 || requirement.groups.size > 0) continue;
      if (this.nodesThatMeet(requirement).length === 0) yield requirement;
    }
  }

  nodesThatMeet(requirement: Requirement): Node[] {
    return [...this.#nodes].filter((node) => node.meets.has(requirement));
  }

  /** Most placements are the one shared default object: its text is made once. */
  #textOf(placement: Placement): string {
    let text = this.#texts.get(placement);
    if (text === undefined) {
      text = canonicalJson(placement as unknown as Json);
      this.#texts.set(placement, text);
    }
    return text;
  }
}

function isMetBy({ placement, executor }: Requirement, node: Node): boolean {
  const { id, executors, offer } = node;
  return meets(placement, executor, { id, executors, capabilities: offer.capabilities });
}

/** Others come first: it is in quarantine, it has failed the task before, or it has no room for fragments. */
function isLastChoice(node: Node, { restriction, isBulk }: Requirement): boolean {
  if (node.quarantinedUntil !== null || restriction.avoids === node.id) return true;
  return isBulk && node.pressure !== null;
}

function restrictionText({ avoids, isAlone }: PlacementRestriction): string {
  return isAlone ? 'alone' : `not ${avoids ?? 'anywhere'}`;
}

/** Something that the node promised turned out to be missing there. */
function isStruck({ strikes }: Node, { executor, placement }: Requirement): boolean {
  if (strikes.size === 0) return false;
  const { executors, executorsAny } = placement;
  if (strikes.has(executor) || executors.some((each) => strikes.has(each))) return true;
  return executorsAny.length > 0 && executorsAny.every((each) => strikes.has(each));
}

function xor(a: Hash, b: Hash): Hash {
  return [(a[0] ^ b[0]) >>> 0, (a[1] ^ b[1]) >>> 0];
}
