// The tabs beside the board, in their order.
export const tabs = ["moves", "study", "rules"] as const;
export type TabName = (typeof tabs)[number];
