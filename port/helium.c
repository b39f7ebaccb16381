typedef int rfm_none;
