/** Whether a process of this machine has this id, under any user. */
export function isAlive(pid: number): boolean {
  // 0 and below mean groups of processes.
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
