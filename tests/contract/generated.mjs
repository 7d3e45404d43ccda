export class Generated { async run() {} }
