import type { Command } from 'commander'
import type { Cli } from './cli.ts'

/** Adds the commands, options and action of an area to its top-level command. */
export type Area = (command: Command, cli: Cli) => void
