import type { Command } from 'commander'
import type { Cli } from './cli.ts'

/** Adds an area's commands, options and action to the command of its name. */
export type Area = (command: Command, cli: Cli) => void
